import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Problem } from '../../kernel/errors/problem.js';
import { ACCESS } from '../../kernel/http/access.js';
import { isUuid } from '../../kernel/ids.js';
import { Authenticate } from '../application/authenticate.js';
import { type Caller, hasPermission } from '../domain/caller.js';
import type { Permission } from '../domain/permission.js';

export type AuthenticatedRequest = Request & { caller?: Caller };

/** Stands before every route: who calls, and may they call this? What they may see of it is for the use case to judge. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticate: Authenticate,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Permission | 'public' | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    if (access === undefined)
      throw new Problem('not_authorized', { detail: 'The route grants access to nobody' });
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const caller = await this.identify(request);
    if (!hasPermission(caller, access)) {
      throw new Problem('not_authorized', { detail: `The permission ${access} is needed` });
    }
    request.caller = caller;
    return true;
  }

  private async identify(request: Request): Promise<Caller> {
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
    const authentication = await this.authenticate.execute(key, teamUid);
    switch (authentication.outcome) {
      case 'authenticated':
        return authentication.caller;
      case 'unknown_key':
        throw new Problem('authentication_required', {
          detail: 'The API key is unknown, expired or revoked',
        });
      case 'not_a_member':
        throw new Problem('not_authorized', { detail: 'You are not a member of the team in X-Team-Uid' });
    }
  }
}

/** The credential of `Authorization: Bearer …` (RFC 6750, section 2.1; the scheme in any case). */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];
}
