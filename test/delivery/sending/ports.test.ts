import { isAllowedPort, portProblem } from '../../../src/delivery/sending/addresses';

describe('ports of receivers (decisions N9)', () => {
  it('are 80, 443 and those from 1024', () => {
    const allowed = [80, 443, 8080, 8443, 1024, 3000, 4000, 5000, 8000, 49152, 65535];
    expect(allowed.filter((port) => !isAllowedPort(port))).toEqual([]);
    expect(Array.from({ length: 1024 }, (_, port) => port).filter(isAllowedPort)).toEqual([80, 443]);
    expect([65_536, -1, NaN, 80.5, 3000.5].filter(isAllowedPort)).toEqual([]);
  });

  it('are none of databases and mail servers', () => {
    const refused = [1433, 1521, 2113, 2525, 3306, 5432, 5672, 6379, 9042, 9092, 9200, 9300, 11211, 27017];
    expect(refused.filter(isAllowedPort)).toEqual([]);
  });

  it.each([
    ['http://a.example/', undefined],
    ['https://a.example/', undefined],
    ['http://a.example:80/', undefined],
    ['https://a.example:80/', undefined],
    ['http://a.example:443/', undefined],
    ['https://a.example:22/', 'port 22 is not allowed; expected 80, 443'],
    ['https://[2001:db8::1]:5432/', 'port 5432 is not allowed'],
  ])('of %s: %s', (url, problem) => {
    expect(portProblem(new URL(url))).toEqual(problem && expect.stringContaining(problem));
  });
});
