import { hash } from 'node:crypto';
import { isStorableText } from '../../kernel/storable-text.js';
import type { DeliveryIdentity } from './delivery.js';
import { MAX_ID_LENGTH, type RequestHeaders } from './request-headers.js';
import type { Scheme } from './signatures/schemes.js';
import { ownField } from './signatures/verifier.js';

/** The header by which any sender can say which delivery it is. */
export const SERVICE_DELIVERY_ID_HEADER = 'x-service-delivery-id';

/** Which headers of a webhook's deliveries tell their identity. */
export interface IdentityRules {
  /** The setting of the webhook, in lower case. */
  deliveryIdHeader: string | undefined;
  /** Of a webhook whose deliveries are signed. */
  delivery: Scheme['delivery'];
}

/** Whether each header that could tell the identity is there once at most and not too long: else nobody knows which one counts. */
export function hasSoundIds(rules: IdentityRules, headers: RequestHeaders): boolean {
  const { deliveryIdHeader, delivery } = rules;
  const provider = delivery && 'header' in delivery ? delivery.header : undefined;
  return [deliveryIdHeader, provider, SERVICE_DELIVERY_ID_HEADER].every((name) => {
    const values = name === undefined ? undefined : headers[name];
    return values === undefined || (values.length === 1 && (values[0] ?? '').length <= MAX_ID_LENGTH);
  });
}

/**
 * The identity of an authenticated delivery, in the specification's order of preference: the webhook's own header, the provider's
 * (or the id in the signed body that stands in for it), the sender's, a hash of the body. An empty id counts as absent.
 */
export function identityOf(
  rules: IdentityRules,
  request: { headers: RequestHeaders; signedId: string | undefined; body: Buffer; payload: unknown },
): DeliveryIdentity {
  const { headers, signedId, body, payload } = request;
  const header = (name: string | undefined) => (name === undefined ? undefined : headers[name]?.[0]);
  const own = header(rules.deliveryIdHeader);
  if (own) return { kind: 'header', value: own };
  const provider = signedId ?? providerId(rules.delivery, header, payload);
  if (provider) return { kind: 'provider', value: provider };
  const service = header(SERVICE_DELIVERY_ID_HEADER);
  if (service) return { kind: 'service', value: service };
  return { kind: 'body_hash', value: hash('sha256', body, 'hex') };
}

function providerId(
  delivery: Scheme['delivery'],
  header: (name: string) => string | undefined,
  payload: unknown,
): string | undefined {
  if (delivery === undefined) return undefined;
  if ('header' in delivery) return header(delivery.header);
  const id = ownField(payload, delivery.bodyField);
  // JSON can carry text that PostgreSQL cannot store; no provider's id is such.
  return typeof id === 'string' && id.length <= MAX_ID_LENGTH && isStorableText(id) ? id : undefined;
}

/** 128 bits of a SHA-256 over the parts, in the form of a UUID. Parts have no NUL in them. */
export const fingerprint = (...parts: string[]): string =>
  hash('sha256', parts.join('\0'), 'hex').slice(0, 32);
