import { v7, validate } from 'uuid';

/** A new UUID version 7 (RFC 9562): ids sort by creation, so indexes on them grow at one end. */
export const newUuid = (): string => v7();

export const isUuid = (value: unknown): value is string => typeof value === 'string' && validate(value);
