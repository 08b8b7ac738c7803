import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { AppConfig } from '../../config/app-config.js';
import { Problem } from '../../kernel/errors/problem.js';
import { ACCESS } from '../../kernel/http/access.js';
import { isUuid } from '../../kernel/ids.js';
import { Authenticate, type Authentication } from '../application/authenticate.js';
import { RequestBudget } from '../application/request-budget.js';
import { type Caller, hasPermission } from '../domain/caller.js';
import type { Permission } from '../domain/permission.js';

export type AuthenticatedRequest = Request & { caller?: Caller };

/**
 * Stands before every route: who calls, may they call this, and have they requests left? What they may see of it is for the use
 * case to judge.
 *
 * Every API key has the budget of `API_REQUESTS_PER_MINUTE`, a run's own key too, but for one thing: what it reports on its execution
 * (`execution:report`) is not counted. The runner and the agent share the run's key, and an agent that reads in a loop must not be
 * able to silence the heartbeats that keep its execution alive.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly budget: RequestBudget | undefined;

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticate: Authenticate,
    config: AppConfig,
  ) {
    const { apiRequestsPerMinute } = config;
    if (apiRequestsPerMinute > 0) this.budget = new RequestBudget(apiRequestsPerMinute);
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const declared = this.reflector.getAllAndOverride<
      Permission | 'public' | { anonymousOr: Permission } | undefined
    >(ACCESS, [context.getHandler(), context.getClass()]);
    if (declared === 'public') return true;
    if (declared === undefined)
      throw new Problem('not_authorized', { detail: 'The route grants access to nobody' });
    const http = context.switchToHttp();
    const request = http.getRequest<AuthenticatedRequest>();
    const takesAnonymous = typeof declared === 'object';
    // An empty header is what a client sends that has no key.
    if (takesAnonymous && !request.get('authorization')) return true;
    const access = takesAnonymous ? declared.anonymousOr : declared;
    const response = http.getResponse<Response>();
    const authentication = this.identify(request);
    // A key that is remembered costs no promise: on a small route those would be most of the guard's work.
    return authentication instanceof Promise
      ? authentication.then((known) => this.admit(known, access, request, response))
      : this.admit(authentication, access, request, response);
  }

  /** @throws Problem 401 unless the request carries a key */
  private identify(request: Request): Authentication | Promise<Authentication> {
    const key = bearerToken(request.get('authorization'));
    if (key === undefined) {
      throw new Problem('authentication_required', {
        detail: 'Send the header Authorization: Bearer <API key>',
      });
    }
    const teamUid = request.get('x-team-uid') ?? request.get('x-warp-team-uid');
    if (teamUid !== undefined && !isUuid(teamUid)) {
      throw Problem.invalid([{ field: 'X-Team-Uid', message: 'must be a UUID' }]);
    }
    return this.authenticate.execute(key, teamUid);
  }

  private admit(
    authentication: Authentication,
    access: Permission,
    request: AuthenticatedRequest,
    response: Response,
  ): boolean {
    switch (authentication.outcome) {
      case 'unknown_key':
        throw new Problem('authentication_required', {
          detail: 'The API key is unknown, expired or revoked',
        });
      case 'not_a_member':
        this.spend(authentication.keyUid, response);
        throw new Problem('not_authorized', { detail: 'You are not a member of the team in X-Team-Uid' });
      case 'authenticated': {
        const { caller } = authentication;
        if (caller.kind !== 'run' || access !== 'execution:report') this.spend(caller.keyUid, response);
        if (!hasPermission(caller, access)) {
          throw new Problem('not_authorized', { detail: `The permission ${access} is needed` });
        }
        request.caller = caller;
        return true;
      }
    }
  }

  /** Counts the request, and tells in headers what is left (draft-ietf-httpapi-ratelimit-headers-06). @throws Problem 429 */
  private spend(keyUid: string, response: Response): void {
    if (this.budget === undefined) return;
    const { limit, remaining, resetSeconds, exceeded } = this.budget.spend(keyUid);
    response.setHeader('RateLimit-Policy', `${limit};w=60`);
    response.setHeader('RateLimit-Limit', limit);
    response.setHeader('RateLimit-Remaining', remaining);
    response.setHeader('RateLimit-Reset', resetSeconds);
    if (exceeded) {
      throw new Problem('rate_limited', {
        detail: `This API key may make ${limit} requests a minute`,
        headers: { 'Retry-After': String(resetSeconds) },
      });
    }
  }
}

/** The credential of `Authorization: Bearer …` (RFC 6750, section 2.1; the scheme in any case). */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];
}
