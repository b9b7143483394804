import { Empty, StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import {
  AppendReq,
  type AppendResp,
  BatchAppendReq,
  type BatchAppendResp,
  ReadReq,
  type ReadResp,
} from '@eventstore/db-client/generated/streams_pb';
import { credentials } from '@grpc/grpc-js';

/** Encoding of an id in a message: some clients send text, others two numbers. */
export const ENCODINGS = ['text', 'numbers'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Calls that clients of other languages make, but the Node.js client never does. */
export class RawEsdb {
  readonly #streams: StreamsClient;

  constructor(port: number) {
    this.#streams = new StreamsClient(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  /** All answers to a read of the first 1,000 events of the log, with changes to the request. */
  async read(change: (options: ReadReq.Options) => unknown): Promise<readonly ReadResp[]> {
    const ids = new ReadReq.Options.UUIDOption().setString(new Empty());
    const all = new ReadReq.Options.AllOptions().setStart(new Empty());
    const options = new ReadReq.Options().setAll(all).setCount('1000').setNoFilter(new Empty());
    change(options.setUuidOption(ids));
    const responses: ReadResp[] = [];
    for await (const response of this.#streams.read(new ReadReq().setOptions(options)))
      responses.push(response as ReadResp);
    return responses;
  }

  /** Appends an event with a single call; `change` may corrupt it. */
  async append(
    stream: Uint8Array,
    id: UUID,
    change: (event: AppendReq.ProposedMessage) => unknown = () => undefined,
  ): Promise<AppendResp> {
    const options = new AppendReq.Options().setStreamIdentifier(identifierOf(stream)).setAny(new Empty());
    const event = filled(new AppendReq.ProposedMessage(), id);
    change(event);
    return await new Promise((resolve, reject) => {
      const call = this.#streams.append((error, response) =>
        error === null ? resolve(response) : reject(error),
      );
      call.write(new AppendReq().setOptions(options));
      call.write(new AppendReq().setProposedMessage(event));
      call.end();
    });
  }

  /** Appends an event with a batch call. */
  async batchAppend(stream: Uint8Array, id: UUID, correlation: UUID): Promise<BatchAppendResp> {
    const options = new BatchAppendReq.Options()
      .setStreamIdentifier(identifierOf(stream))
      .setAny(new Empty());
    const request = new BatchAppendReq().setCorrelationId(correlation).setOptions(options).setIsFinal(true);
    request.addProposedMessages(filled(new BatchAppendReq.ProposedMessage(), id));
    const call = this.#streams.batchAppend();
    call.end(request);
    for await (const response of call) return response as BatchAppendResp;
    throw new Error('the append has not been answered');
  }

  close(): void {
    this.#streams.close();
  }
}

/** An id in an encoding. */
export function encoded(id: string, encoding: Encoding): UUID {
  if (encoding === 'text') return new UUID().setString(id);
  const [most, least] = [id.replaceAll('-', '').slice(0, 16), id.replaceAll('-', '').slice(16)];
  const numbers = new UUID.Structured()
    .setMostSignificantBits(BigInt.asIntN(64, BigInt(`0x${most}`)).toString())
    .setLeastSignificantBits(BigInt.asIntN(64, BigInt(`0x${least}`)).toString());
  return new UUID().setStructured(numbers);
}

/** The id in a message and its encoding. */
export function decoded(id: UUID): { readonly id: string; readonly encoding: Encoding } {
  const numbers = id.getStructured();
  if (numbers === undefined) return { id: id.getString(), encoding: 'text' };
  const digits = [numbers.getMostSignificantBits(), numbers.getLeastSignificantBits()].map((number) =>
    BigInt.asUintN(64, BigInt(number)).toString(16).padStart(16, '0'),
  );
  return {
    id: digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    encoding: 'numbers',
  };
}

export function identifierOf(stream: Uint8Array): StreamIdentifier {
  return new StreamIdentifier().setStreamName(stream);
}

function filled<Message extends AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage>(
  message: Message,
  id: UUID,
): Message {
  message.setId(id).setData(Buffer.from('{}'));
  message.getMetadataMap().set('type', 'Happened').set('content-type', 'application/json');
  return message;
}
