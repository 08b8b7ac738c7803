import type { DeliveryIdentity, DeliveryStatus } from './delivery.js';

/** A delivery as the log shows it, without its payload. */
export interface LoggedDelivery {
  id: string;
  webhookUid: string;
  status: DeliveryStatus;
  /** Of a duplicate: the delivery that was accepted with its identity. */
  duplicateOf: string | null;
  identity: DeliveryIdentity | undefined;
  sizeBytes: number;
  receivedAt: Date;
  /** Those of the allow-list. */
  headers: Record<string, string>;
}

/** Which deliveries are asked for. */
export interface DeliveryFilter {
  statuses: readonly DeliveryStatus[];
  /** Received at this moment or later. */
  since?: Date;
  /** Received before this moment. */
  until?: Date;
}

/** A place in the log. */
export interface DeliveryPosition {
  receivedAt: Date;
  id: string;
}

export const REJECTED_STATUSES = ['rejected_auth', 'rejected_invalid_json', 'rejected_too_large'] as const;
