import type { DeliveryIdentity } from './delivery.js';
import { hasSoundIds, identityOf, type IdentityRules } from './delivery-identity.js';
import type { RequestHeaders } from './request-headers.js';
import type { SignatureVerifier } from './signatures/verifier.js';
import { bearerTokenOf, matchesToken } from './tokens.js';

/** What proves a sender to one webhook. */
export type Credential =
  | { mode: 'token' | 'url_token'; hash: Buffer }
  /** Without a verifier the stored secret cannot be a key of the scheme, and nothing is accepted. */
  | { mode: 'signature'; verifier: SignatureVerifier | undefined };

/** A request as far as its first line and headers. */
export interface RequestHead {
  headers: RequestHeaders;
  /** Of the path, decoded. */
  token: string | undefined;
}

/** A request whose headers are in order. What is still to be shown is that its body is what was signed. */
export interface Claim {
  fits(body: Buffer): boolean;
  identityOf(body: Buffer, payload: unknown): DeliveryIdentity;
}

const LOGGED_OF_ALL = ['content-type', 'user-agent'];
const MAX_LOGGED_LENGTH = 1000;

/** One webhook, prepared to judge requests: its key made, its rules chosen. */
export class IngressWebhook {
  private readonly rules: IdentityRules;
  private readonly logged: string[];

  constructor(
    readonly uid: string,
    /** Raised by every change of it. */
    readonly version: string,
    private readonly credential: Credential,
    deliveryIdHeader: string | undefined,
    /** Slack asks for a proof that the address is ours before it sends anything else. */
    readonly answersChallenges: boolean,
  ) {
    const scheme = credential.mode === 'signature' ? credential.verifier?.scheme : undefined;
    this.rules = { deliveryIdHeader: deliveryIdHeader?.toLowerCase(), delivery: scheme?.delivery };
    this.logged = [...LOGGED_OF_ALL, ...(scheme?.logged ?? [])];
  }

  /** Only a webhook whose credential stands in the URL has a second segment in its path. */
  isAt({ token }: RequestHead): boolean {
    return token === undefined || this.credential.mode === 'url_token';
  }

  /**
   * @param now milliseconds since 1970
   * @returns undefined when the credential fails, or an id that could tell the delivery from others is there twice
   */
  claimOf({ headers, token }: RequestHead, now: number): Claim | undefined {
    const proof = this.prove(headers, token, now);
    if (proof === undefined || !hasSoundIds(this.rules, headers)) return undefined;
    return {
      fits: (body) => proof.fits(body),
      identityOf: (body, payload) =>
        identityOf(this.rules, { headers, signedId: proof.signedId, body, payload }),
    };
  }

  /** The headers that the log keeps; never one that carries a credential. */
  loggedHeaders(headers: RequestHeaders): Record<string, string> {
    const logged: Record<string, string> = {};
    for (const name of this.logged) {
      const value = headers[name]?.[0];
      if (value !== undefined) logged[name] = value.slice(0, MAX_LOGGED_LENGTH);
    }
    return logged;
  }

  private prove(
    headers: RequestHeaders,
    token: string | undefined,
    now: number,
  ): { signedId: string | undefined; fits(body: Buffer): boolean } | undefined {
    const { credential } = this;
    if (credential.mode === 'signature') return credential.verifier?.claimOf(headers, now);
    const given = credential.mode === 'token' ? bearerTokenOf(headers) : token;
    return given !== undefined && matchesToken(given, credential.hash) ? TOKEN_PROOF : undefined;
  }
}

/** A token says nothing of the body. */
const TOKEN_PROOF = { signedId: undefined, fits: () => true };
