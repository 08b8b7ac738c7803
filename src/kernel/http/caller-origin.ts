import type { Request } from 'express';

/**
 * Where the caller reaches this service. A proxy that ends TLS speaks plain HTTP to us, so for the public host the public URL is
 * taken; any other host (a worker's, on the inside) is taken from the request.
 */
export function callerOrigin(request: Request, publicUrl: string): string {
  const host = request.get('host');
  if (host === undefined || host === new URL(publicUrl).host) return publicUrl;
  return `${request.protocol}://${host}`;
}
