/** What a signed object URL allows: one operation on one object until a moment (milliseconds since the epoch). */
export type ObjectGrant =
  | { operation: 'get'; key: string; filename: string; contentType: string; expiresAt: number }
  | {
      operation: 'put';
      key: string;
      contentType: string;
      maxBytes: number;
      /** Unless the object is there. */
      once: boolean;
      expiresAt: number;
    };
