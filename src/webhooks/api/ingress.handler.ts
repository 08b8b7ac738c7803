import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppConfig } from '../../config/app-config.js';
import { SECOND } from '../../kernel/clock.js';
import { ERROR_CATALOGUE } from '../../kernel/errors/error-catalogue.js';
import { Problem } from '../../kernel/errors/problem.js';
import { problemHeaders, toProblemBody } from '../../kernel/http/problem-response.js';
import { beginRequest, inRequest, type RequestContext } from '../../kernel/http/request-context.js';
import { isUuid } from '../../kernel/ids.js';
import { observeRequest } from '../../kernel/observability/access-log.middleware.js';
import { type LabelledCounter, Metrics } from '../../kernel/observability/metrics.js';
import {
  type BodyReading,
  ReceiveDelivery,
  type Reception,
  type Refusal,
} from '../application/receive-delivery.js';
import { clientAddress } from '../domain/client-address.js';
import { MAX_BODY_BYTES } from '../domain/json-payload.js';
import { HeldBytes } from './held-bytes.js';
import { contentLengthOf, readBody } from './read-body.js';
import { sendJson } from './send-json.js';

/** Everything below is the ingress's, whatever it is. */
const PREFIX = '/webhooks/w/';
/** How long a stop waits for deliveries under way. */
const DRAIN_TIMEOUT_MS = 5 * SECOND;

/** A request and what is to answer it. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  context: RequestContext;
}

interface Target {
  uid: string;
  token: string | undefined;
  /** What may be logged and repeated: a token is a credential. */
  path: string;
  route: string;
}

/**
 * The ingress of webhooks: `POST /webhooks/w/{webhook_uid}`, and `…/{token}` where the token in the URL is the credential.
 *
 * A plain handler of node:http in front of express, because express costs more than all the rest of a delivery. What express's
 * middleware does for other routes is done here by the same pieces: request context, access log, metrics, problem documents. The context
 * is entered only by what logs or answers with it: carried along with every promise it would cost more than the checks.
 */
@Injectable()
export class IngressHandler implements BeforeApplicationShutdown {
  private readonly logger = new Logger(IngressHandler.name);
  private readonly held = new HeldBytes();
  private readonly received: LabelledCounter<'outcome'>;
  private underWay = 0;
  private whenDrained: (() => void) | undefined;

  constructor(
    private readonly receiveDelivery: ReceiveDelivery,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {
    this.received = metrics.counter({
      name: 'webhook_deliveries_received_total',
      help: 'Requests to the ingress of webhooks by what became of them',
      labelNames: ['outcome'],
    });
  }

  /** Whether this process takes deliveries in, and the request is one. */
  serves({ url }: IncomingMessage): boolean {
    return this.config.roles.has('ingress') && url?.startsWith(PREFIX) === true;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const target = targetOf(request.url ?? '');
    const context = beginRequest(request, response);
    this.underWay += 1;
    response.once('close', () => {
      this.underWay -= 1;
      if (this.underWay === 0) this.whenDrained?.();
    });
    observeRequest(this.metrics, context, response, request.method ?? '', () => target);
    void this.answer({ request, response, target, context });
  }

  /** Lets what is under way end, before the connections are cut. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.underWay === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.whenDrained = resolve;
      timer = setTimeout(resolve, DRAIN_TIMEOUT_MS);
    });
    clearTimeout(timer);
  }

  private async answer(exchange: Exchange): Promise<void> {
    const { request, target } = exchange;
    const memory = this.held.forRequest();
    try {
      if (request.method !== 'POST') throw methodNotAllowed();
      if (!isUuid(target.uid)) throw Problem.notFound('webhook');
      let reading: Promise<BodyReading> | undefined;
      const reception = await this.receiveDelivery.execute({
        webhookUid: target.uid.toLowerCase(),
        token: target.token,
        headers: request.headersDistinct,
        clientAddress: clientAddress(
          request.socket.remoteAddress ?? '',
          request.headersDistinct['x-forwarded-for'],
          this.config.trustedProxies,
        ),
        contentLength: contentLengthOf(request),
        readBody: () => (reading ??= readBody(request, memory)),
      });
      this.received.increment({ outcome: labelOf(reception) });
      this.send(exchange, reception);
    } catch (error) {
      const problem = toProblem(error);
      if (problem.code === 'resource_unavailable') {
        this.received.increment({ outcome: 'unavailable' });
        inRequest(exchange.context, () => {
          this.logger.error({ err: error }, 'a delivery could not be taken in');
        });
      }
      this.sendProblem(exchange, problem);
    } finally {
      memory.giveBack();
    }
  }

  private send(exchange: Exchange, reception: Reception): void {
    const { request, response } = exchange;
    switch (reception.outcome) {
      case 'accepted':
        sendJson(request, response, 202, { delivery_id: reception.deliveryId });
        return;
      case 'challenged':
        sendJson(request, response, 200, { challenge: reception.challenge });
        return;
      case 'aborted':
        // Gone, or too slow to be waited for.
        response.statusCode = 408;
        response.destroy();
        return;
      case 'not_found':
      case 'unauthenticated':
      case 'too_large':
      case 'invalid_json':
      case 'over_budget':
      case 'unsettled':
        this.sendProblem(exchange, problemOf(reception));
    }
  }

  private sendProblem({ request, response, target, context }: Exchange, problem: Problem): void {
    for (const [name, value] of Object.entries(problemHeaders(problem))) response.setHeader(name, value);
    const body = inRequest(context, () => toProblemBody(problem, this.config.publicUrl, target.path));
    sendJson(request, response, ERROR_CATALOGUE[problem.code].status, body, 'application/problem+json');
  }
}

/** The path's segments behind the prefix. The query means nothing here. */
function targetOf(url: string): Target {
  const [uid, token] = splitOnce(url.slice(PREFIX.length).split('?', 1)[0] ?? '');
  return token === undefined
    ? { uid, token, path: `${PREFIX}${uid}`, route: `${PREFIX}:uid` }
    : { uid, token: decoded(token), path: `${PREFIX}${uid}/{token}`, route: `${PREFIX}:uid/:token` };
}

function splitOnce(path: string): [string, string?] {
  const at = path.indexOf('/');
  return at < 0 ? [path] : [path.slice(0, at), path.slice(at + 1)];
}

/** What cannot be decoded is no token. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

const methodNotAllowed = (): Problem =>
  new Problem('method_not_allowed', { detail: 'Only POST is allowed here', headers: { Allow: 'POST' } });

function problemOf(refusal: Refusal): Problem {
  switch (refusal.outcome) {
    case 'not_found':
      return Problem.notFound('webhook');
    case 'unauthenticated':
      return new Problem('authentication_required', {
        detail: 'The credential or signature of this delivery is missing, wrong or out of time',
      });
    case 'too_large':
      return new Problem('payload_too_large', { detail: `at most ${String(MAX_BODY_BYTES)} bytes` });
    case 'invalid_json':
      return Problem.invalid([{ field: 'body', message: 'is not valid JSON' }]);
    case 'over_budget':
      return new Problem('rate_limited', {
        detail:
          refusal.of === 'deliveries'
            ? 'This webhook has taken in as many deliveries as it may in a minute'
            : 'Too many failed authentications in a minute',
        headers: { 'Retry-After': String(refusal.retryAfterSeconds) },
      });
    case 'unsettled':
      return new Problem('resource_unavailable', { detail: 'The webhook is being changed' });
  }
}

/** Whatever goes wrong here is our fault: a 4xx would make some senders drop the delivery for good. */
const toProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem('resource_unavailable', { cause: error });

const labelOf = (reception: Reception): string =>
  reception.outcome === 'accepted' && reception.isDuplicate ? 'duplicate' : reception.outcome;
