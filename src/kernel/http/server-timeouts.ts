import type { Server } from 'node:http';
import { SECOND } from '../clock.js';

/** Headers that take longer are not waited for. */
const HEADERS_TIMEOUT_MS = 15 * SECOND;
/**
 * Longer than load balancers keep an idle connection (60 s at AWS and in nginx): one that we close first may have a request on its way, and
 * its sender gets a 502.
 */
const KEEP_ALIVE_TIMEOUT_MS = 75 * SECOND;

/** How long the server waits for a client that says nothing. */
export function setServerTimeouts(server: Server): void {
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
}
