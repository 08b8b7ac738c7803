import type { NestExpressApplication } from '@nestjs/platform-express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SECOND } from '../../kernel/clock.js';
import { IngressHandler } from './ingress.handler.js';

/** Headers that take longer are not waited for. */
const HEADERS_TIMEOUT_MS = 15 * SECOND;

/** Puts the ingress in front of express, on the application's own server: sockets, websockets and the stop stay Nest's. */
export function serveIngress(app: NestExpressApplication): void {
  const server = app.getHttpServer();
  const ingress = app.get(IngressHandler);
  const others = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (ingress.serves(request)) ingress.handle(request, response);
    else for (const listener of others) listener.call(server, request, response);
  });
  server.headersTimeout = HEADERS_TIMEOUT_MS;
}
