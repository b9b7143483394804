import { Empty } from '@eventstore/db-client/generated/shared_pb';
import {
  type AppendReq,
  AppendResp,
  type DeleteReq,
  DeleteResp,
  type TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb';
import { invalid, toOffset } from '../../../src/replay/client-values';
import { streamName } from '../../../src/replay/read-options';
import { expectationOf, Proposal } from './proposal';
import { type Expectation, WrongVersion } from './refused-write';
import { type Writer, type Written } from './writer';

/** Answers an `Append` call: its options come first, then its events. Raises `Refusal`, `EngineUnavailable`. */
export async function answerAppend(writer: Writer, requests: AsyncIterable<AppendReq>): Promise<AppendResp> {
  let target: { readonly stream: string; readonly expected: Expectation } | undefined;
  const proposal = new Proposal();
  for await (const request of requests) {
    const options = request.getOptions();
    const message = request.getProposedMessage();
    if (options !== undefined) target = targetOf(options);
    if (message !== undefined) proposal.add(message);
  }
  if (target === undefined) throw invalid('options are missing');
  try {
    return appended(await writer.append(target.stream, target.expected, proposal.events));
  } catch (error) {
    // The only failure that is reported as an answer.
    if (error instanceof WrongVersion) return wrongVersion(error);
    throw error;
  }
}

/** Answers a `Delete` call. */
export async function answerDelete(writer: Writer, request: DeleteReq): Promise<DeleteResp> {
  const { stream, expected } = targetOf(request.getOptions());
  const offset = toOffset(await writer.delete(stream, expected));
  const position = new DeleteResp.Position().setCommitPosition(offset).setPreparePosition(offset);
  return new DeleteResp().setPosition(position);
}

/** Answers a `Tombstone` call. */
export async function answerTombstone(writer: Writer, request: TombstoneReq): Promise<TombstoneResp> {
  const { stream, expected } = targetOf(request.getOptions());
  const offset = toOffset(await writer.tombstone(stream, expected));
  const position = new TombstoneResp.Position().setCommitPosition(offset).setPreparePosition(offset);
  return new TombstoneResp().setPosition(position);
}

type WriteOptions = AppendReq.Options | DeleteReq.Options | TombstoneReq.Options;

function targetOf(options: WriteOptions | undefined): {
  readonly stream: string;
  readonly expected: Expectation;
} {
  if (options === undefined) throw invalid('options are missing');
  return {
    stream: streamName(options.getStreamIdentifier()),
    expected: expectationOf({
      none: options.hasNoStream(),
      any: options.hasAny(),
      exists: options.hasStreamExists(),
      revision: options.hasRevision() ? options.getRevision() : undefined,
    }),
  };
}

function appended({ revision, position }: Written): AppendResp {
  const success = new AppendResp.Success();
  if (revision < 0) success.setNoStream(new Empty());
  else success.setCurrentRevision(String(revision));
  if (position === undefined) return new AppendResp().setSuccess(success.setNoPosition(new Empty()));
  const offset = toOffset(position);
  success.setPosition(new AppendResp.Position().setCommitPosition(offset).setPreparePosition(offset));
  return new AppendResp().setSuccess(success);
}

function wrongVersion({ expected, actual }: WrongVersion): AppendResp {
  const wrong = new AppendResp.WrongExpectedVersion();
  if (actual < 0) wrong.setCurrentNoStream(new Empty());
  else wrong.setCurrentRevision(String(actual));
  if (expected === 'any') wrong.setExpectedAny(new Empty());
  else if (expected === 'exists') wrong.setExpectedStreamExists(new Empty());
  else if (expected === 'none') wrong.setExpectedNoStream(new Empty());
  else wrong.setExpectedRevision(String(expected));
  return new AppendResp().setWrongExpectedVersion(wrong);
}
