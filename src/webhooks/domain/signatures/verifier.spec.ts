import { describe, expect, it } from '@jest/globals';
import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHeaders } from '../request-headers.js';
import { SIGNATURE_SCHEMES, type SignatureScheme } from '../signature-scheme.js';
import { SCHEMES, SIGNATURE_HEADERS } from './schemes.js';
import { createVerifier } from './verifier.js';

interface Vector {
  scheme: string;
  secret: string;
  body: string;
  headers: Record<string, string>;
  ok: boolean;
  /** Seconds since 1970. */
  now?: number;
  note?: string;
}

const VECTORS = (
  JSON.parse(
    readFileSync(new URL('../../../../test/fixtures/signature-vectors.json', import.meta.url), 'utf8'),
  ) as Vector[]
).map((vector, index) => ({ ...vector, title: `${String(index)} ${vector.scheme} ${vector.note ?? ''}` }));
const GOOD = VECTORS.filter(({ ok }) => ok);
/** The token of the older kind says nothing of the body. */
const SIGNED = GOOD.filter(({ scheme }) => scheme !== 'gitlab_token');
const TIMED = GOOD.filter(({ scheme }) =>
  ['stripe', 'standard_webhooks', 'gitlab', 'slack'].includes(scheme),
);

/** Gitlab has one scheme with two kinds of secret. */
const schemeName = ({ scheme }: Vector): SignatureScheme =>
  scheme === 'gitlab_token' ? 'gitlab' : (scheme as SignatureScheme);

const distinct = (headers: Record<string, string>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

function accepts(
  vector: Vector,
  changed: Partial<Vector> & { distinctHeaders?: RequestHeaders } = {},
): boolean {
  const { secret, body, headers, now } = { ...vector, ...changed };
  const verifier = createVerifier(schemeName(vector), secret);
  const claim = verifier?.claimOf(
    changed.distinctHeaders ?? distinct(headers),
    (now ?? 1_700_000_000) * 1000,
  );
  return claim?.fits(Buffer.from(body)) ?? false;
}

/** The headers that the scheme looks at. */
const watched = (vector: Vector): string[] => {
  const row = SCHEMES[schemeName(vector)];
  const schemes = 'variants' in row ? row.variants : [row];
  const names = schemes.flatMap(({ headers }) => headers.flatMap((set) => Object.values(set) as string[]));
  return Object.keys(vector.headers).filter((name) => names.includes(name));
};

describe('the published and computed vectors', () => {
  it('cover every scheme', () => {
    expect(new Set(VECTORS.map(schemeName))).toEqual(new Set(SIGNATURE_SCHEMES));
  });

  it.each(VECTORS)('$title', (vector) => {
    expect(accepts(vector)).toBe(vector.ok);
  });
});

describe('whatever is changed is refused', () => {
  it.each(SIGNED)('$title: any byte of the body', (vector) => {
    const body = Buffer.from(vector.body);
    for (let at = 0; at < body.length; at++) {
      const changed = Buffer.from(body);
      changed[at]! ^= 1 << (at % 7);
      const verifier = createVerifier(schemeName(vector), vector.secret);
      const claim = verifier!.claimOf(distinct(vector.headers), (vector.now ?? 0) * 1000);
      expect({ at, fits: claim!.fits(changed) }).toEqual({ at, fits: false });
    }
    expect(accepts(vector, { body: `${vector.body} ` })).toBe(false);
    expect(accepts(vector, { body: vector.body.slice(0, -1) })).toBe(false);
  });

  it.each(GOOD)('$title: another key', (vector) => {
    const secret = vector.secret.startsWith('whsec_')
      ? `whsec_${randomBytes(32).toString('base64')}`
      : vector.secret.startsWith('whpk_')
        ? 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
        : randomBytes(24).toString('base64');
    expect(accepts(vector, { secret })).toBe(false);
    expect(accepts(vector, { secret: '' })).toBe(false);
  });

  it.each(GOOD)('$title: each header missing, empty, doubled or altered', (vector) => {
    const names = watched(vector);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      // A version that is skipped may be anything.
      const value = vector.headers[name]!.replace(/,v0=.*/, '');
      const headers = { ...distinct(vector.headers), [name]: [value] };
      expect(accepts(vector, { distinctHeaders: headers })).toBe(true);
      const others: Record<string, string[] | undefined> = {
        missing: undefined,
        empty: [''],
        doubled: [value, value],
        spaced: [`${value} `],
        'with more behind it': [`${value},`],
        'in other digits': [value.replace(/[0-9a-zA-Z](?=[^0-9a-zA-Z]*$)/, (c) => (c === 'b' ? 'c' : 'b'))],
      };
      // Hexadecimal is lower case: a signature has one form.
      if (/[0-9a-f]{32}$/.test(value)) others.shouted = [value.toUpperCase()];
      for (const [how, values] of Object.entries(others)) {
        const accepted = accepts(vector, { distinctHeaders: { ...headers, [name]: values } });
        expect({ name, how, accepted }).toEqual({ name, how, accepted: false });
      }
    }
  });

  it.each(TIMED)('$title: five minutes both ways, and not a second more', (vector) => {
    const sent = Number(/t=(\d+)/.exec(vector.headers['stripe-signature'] ?? '')?.[1] ?? vector.now);
    expect([-301, -300, 300, 301].map((age) => accepts(vector, { now: sent + age }))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('a time that was not signed, is no number or has thirteen digits', () => {
    const vector = TIMED.find(({ scheme }) => scheme === 'standard_webhooks')!;
    for (const timestamp of [
      '1614265331',
      '1e9',
      ' 1614265330',
      '+1614265330',
      '-1',
      '1614265330.0',
      '9'.repeat(13),
    ]) {
      const headers = { ...vector.headers, 'webhook-timestamp': timestamp };
      expect({ timestamp, accepted: accepts(vector, { headers }) }).toEqual({ timestamp, accepted: false });
    }
  });

  it('sets of headers that are mixed', () => {
    const vector = TIMED.find(({ headers }) => 'webhook-id' in headers)!;
    const { 'webhook-id': id, ...rest } = vector.headers;
    expect(accepts(vector, { headers: { ...rest, 'svix-id': id! } })).toBe(false);
  });

  it("Linear's minute, both ways, by the time in the body", () => {
    const vector = GOOD.find(({ scheme }) => scheme === 'linear')!;
    const sent = (JSON.parse(vector.body) as { webhookTimestamp: number }).webhookTimestamp;
    expect(
      [-60_001, -60_000, 60_000, 60_001].map((age) => accepts(vector, { now: (sent + age) / 1000 })),
    ).toEqual([false, true, true, false]);
    for (const body of ['{}', '[1]', '"x"', '{"webhookTimestamp":"1"}', '{"webhookTimestamp":1e300}']) {
      const signature = createHmac('sha256', vector.secret).update(body).digest('hex');
      expect(accepts(vector, { body, headers: { 'linear-signature': signature } })).toBe(false);
    }
  });
});

describe('several signatures', () => {
  const vector = GOOD.find(({ scheme, note }) => scheme === 'stripe' && note === undefined)!;
  const [time, right] = vector.headers['stripe-signature']!.split(',') as [string, string];
  const wrong = `v1=${'0'.repeat(64)}`;
  const signed = (...signatures: string[]): boolean =>
    accepts(vector, { headers: { 'stripe-signature': [time, ...signatures].join(',') } });

  it('are ten at most, and one that fits is enough', () => {
    expect(signed(...Array<string>(9).fill(wrong), right)).toBe(true);
    expect(signed(right, ...Array<string>(9).fill(wrong))).toBe(true);
    expect(signed(right, ...Array<string>(10).fill(wrong))).toBe(false);
    expect(signed(...Array<string>(10).fill('v0=x'), right)).toBe(false);
  });

  it('of versions that are not known are skipped, and malformed ones refused', () => {
    expect(signed('v0=anything', right, 'v2=')).toBe(true);
    expect(signed('v0=anything')).toBe(false);
    expect(signed(right, 'v1=00')).toBe(false);
    expect(signed(right, 'nonsense')).toBe(false);
    expect(signed(right, '__proto__=1')).toBe(false);
    expect(signed(right, time)).toBe(false);
  });
});

describe('a secret that is no key', () => {
  it.each([
    ['standard_webhooks', 'whsec_'],
    ['standard_webhooks', 'whsec_%%%'],
    ['standard_webhooks', `whsec_${randomBytes(23).toString('base64')}`],
    ['standard_webhooks', `whsec_${randomBytes(65).toString('base64')}`],
    ['standard_webhooks', `whpk_${randomBytes(31).toString('base64')}`],
    ['gitlab', 'whsec_'],
    ['github', ''],
  ] as const)('%s %s makes no verifier', (scheme, secret) => {
    expect(createVerifier(scheme, secret)).toBeUndefined();
  });
});

it('knows every header that carries a credential', () => {
  expect([...SIGNATURE_HEADERS]).toEqual(
    expect.arrayContaining(['x-hub-signature-256', 'stripe-signature', 'svix-signature', 'x-gitlab-token']),
  );
});
