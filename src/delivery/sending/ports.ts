/** Ports from 1024 of databases, caches, queues and mail servers, and of what manages machines (`docs/decisions.md#n9`). */
const REFUSED: ReadonlySet<number> = new Set([
  1113, // EventStoreDB, TCP
  1433, // SQL Server
  1434,
  1521, // Oracle
  1522,
  1526,
  2049, // NFS
  2113, // EventStoreDB
  2181, // ZooKeeper
  2375, // Docker
  2376,
  2379, // etcd
  2380,
  2483, // Oracle
  2484,
  2525, // SMTP, as a second port of many providers
  3050, // Firebird
  3306, // MySQL
  4190, // Sieve
  4333, // mSQL
  5432, // PostgreSQL
  5433,
  5672, // AMQP
  5671,
  5984, // CouchDB
  6379, // Redis
  6380,
  6432, // PgBouncer
  7000, // Cassandra
  7001,
  7199,
  7474, // Neo4j
  7687,
  8086, // InfluxDB
  8529, // ArangoDB
  9042, // Cassandra
  9092, // Kafka
  9093,
  9142,
  9160,
  9200, // Elasticsearch
  9300,
  10025, // SMTP behind content filters
  10026,
  11211, // memcached
  26257, // CockroachDB
  26379, // Redis Sentinel
  27017, // MongoDB
  27018,
  27019,
  28015, // RethinkDB
  50000, // Db2
]);

const BELOW_1024: ReadonlySet<number> = new Set([80, 443]);

/** Whether messages may be sent to this port (`docs/decisions.md#n9`). */
export function isAllowedPort(port: number): boolean {
  if (port < 1024) return BELOW_1024.has(port);
  return Number.isInteger(port) && port <= 65_535 && !REFUSED.has(port);
}

/** What is wrong with the port of a URL, to follow the name of its field and a colon; undefined if nothing is. */
export function portProblem({ protocol, port }: URL): string | undefined {
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  if (isAllowedPort(number)) return undefined;
  return `port ${number} is not allowed; expected 80, 443, or one from 1024 that is not one of databases or mail servers`;
}
