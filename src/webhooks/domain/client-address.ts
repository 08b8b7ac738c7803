import { isIPv6 } from 'node:net';

/**
 * Whom failures are counted against: the address of the peer, or the one that the outermost trusted proxy saw.
 *
 * @param forwardedFor every `X-Forwarded-For`, in order
 * @param trustedProxies how many proxies of ours stand in front; each has added the address that it saw
 * @returns an IPv4 address, the /64 of an IPv6 address (a customer has all of it), or what the proxy wrote, 64 characters at most
 */
export function clientAddress(
  peer: string,
  forwardedFor: readonly string[] | undefined,
  trustedProxies: number,
): string {
  const seen = (forwardedFor ?? []).flatMap((value) => value.split(',')).map((address) => address.trim());
  const path = [...seen.filter((address) => address !== ''), peer];
  const address = path[Math.max(path.length - 1 - trustedProxies, 0)] ?? peer;
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIPv6(bare) ? network(bare) : bare.slice(0, 64);
}

/** The first 64 bits. */
function network(address: string): string {
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  const all = [...front, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...back];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
