/** What became of a delivery. Those that were answered 404, 405, 429 or 503 are not logged. */
export const DELIVERY_STATUSES = [
  'accepted',
  'duplicate',
  'rejected_auth',
  'rejected_invalid_json',
  'rejected_too_large',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Where a delivery's identity was found, in the order of preference. */
export const IDENTITY_KINDS = ['header', 'provider', 'service', 'body_hash'] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];

/** What tells a delivery from the sender's others: one that was accepted already is a duplicate. */
export interface DeliveryIdentity {
  kind: IdentityKind;
  value: string;
}

/** What an automation made of a delivery; `pending`: it has not been decided yet, or its run not been started. */
export const EVALUATION_OUTCOMES = ['matched', 'not_matched', 'error', 'pending'] as const;
export type EvaluationOutcome = (typeof EVALUATION_OUTCOMES)[number];
