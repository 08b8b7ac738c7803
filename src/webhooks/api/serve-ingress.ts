import type { NestExpressApplication } from '@nestjs/platform-express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { IngressHandler } from './ingress.handler.js';

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
}
