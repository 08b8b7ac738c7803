/** The bytes of lower-case hexadecimal digits; undefined when it is not exactly so many bytes of them. */
export function decodeHex(text: string, bytes: number): Buffer | undefined {
  return text.length === bytes * 2 && /^[0-9a-f]+$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/** The bytes of base64 (RFC 4648, section 4, padded); undefined for anything that would not be encoded just so. */
export function decodeBase64(text: string): Buffer | undefined {
  // Buffer.from skips what it does not know and reads base64url too.
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
