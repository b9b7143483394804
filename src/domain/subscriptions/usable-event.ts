import { isText, isTime } from '../../kernel/unknown';
import { isPosted } from '../../wire/api/posted';

/**
 * Whether an event of a subscription has what its type says. Ours have; one of another program that has not would have
 * every reader of the stream fail, so it changes nothing (`docs/decisions.md#x103`), nor does one of an unknown type.
 */
export function isUsable({ type, data }: { readonly type: string; readonly data: object }): boolean {
  const { at, topic, organisationId, subscription, receiver, secret, stateId, message, revision } =
    data as Readonly<Record<string, unknown>>;
  if (!isTime(at)) return false;
  switch (type) {
    case 'SubscriptionCreated':
      return isText(topic) && Number.isInteger(organisationId) && isContent(subscription);
    case 'SubscriptionReplaced': {
      const { kept } = data as Readonly<Record<string, unknown>>;
      return isContent(subscription) && (kept === undefined || isKept(kept));
    }
    case 'ReceiverDisabled':
    case 'ReceiverEnabled':
    case 'ProbeRequested':
      return isText(receiver);
    case 'SecretRotated':
      return Number.isInteger(secret);
    case 'TestRequested':
      return isText(receiver) && Number.isInteger(stateId);
    case 'MessageRequested': {
      const { subject, sequence, time } = data as Readonly<Record<string, unknown>>;
      const isAbout = isText(subject) && Number.isInteger(sequence) && Number.isInteger(stateId);
      return isText(receiver) && isText(message) && isAbout && isTime(time);
    }
    case 'RedeliveryRequested':
      return isText(receiver) && isText(message) && Number.isInteger(revision);
    case 'SubscriptionDeleted':
    case 'BackfillsCancelled':
    case 'RedeliveriesCancelled':
      return true;
    default:
      return false;
  }
}

function isContent(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { filter, receivers, currencyConversion, customAttribute } = value;
  return (
    isPosted(filter) &&
    Array.isArray(filter.stateIds) &&
    [filter.programIds, filter.siteIds, filter.eventIds, filter.eventTypeIds].every(isListIfAny) &&
    Array.isArray(receivers) &&
    receivers.every(isReceiver) &&
    (currencyConversion === undefined || (isPosted(currencyConversion) && isText(currencyConversion.to))) &&
    (customAttribute === undefined || isCustomAttribute(customAttribute))
  );
}

function isKept(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { secret, replacedSecrets, redeliveriesCancelled } = value;
  return (
    isPosted(secret) &&
    Number.isInteger(secret.number) &&
    isTime(secret.since) &&
    Array.isArray(replacedSecrets) &&
    replacedSecrets.every((one) => isPosted(one) && Number.isInteger(one.number) && isTime(one.until)) &&
    (redeliveriesCancelled === undefined || isTime(redeliveriesCancelled))
  );
}

function isReceiver(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { id, httpMethod, receiverUrl, receiverBody, receiverFormat } = value;
  if (!isText(receiverUrl) || !(id === undefined || isText(id))) return false;
  return httpMethod === 'GET' || (httpMethod === 'POST' && isText(receiverBody) && isText(receiverFormat));
}

function isCustomAttribute(value: unknown): boolean {
  if (!isPosted(value)) return false;
  const { tdAttributes, userAttribute, rules } = value;
  return (
    Array.isArray(tdAttributes) &&
    isText(userAttribute) &&
    Array.isArray(rules) &&
    rules.every((rule) => isPosted(rule) && Array.isArray(rule.inputs))
  );
}

function isListIfAny(value: unknown): boolean {
  return value === undefined || Array.isArray(value);
}
