import { expect, it } from '@jest/globals';
import { clientAddress } from './client-address.js';

it.each([
  // peer, X-Forwarded-For, trusted proxies, whom it is counted against
  ['192.0.2.1', undefined, 0, '192.0.2.1'],
  ['192.0.2.1', ['198.51.100.1'], 0, '192.0.2.1'],
  ['192.0.2.1', ['6.6.6.6, 198.51.100.1'], 1, '198.51.100.1'],
  ['192.0.2.1', ['6.6.6.6', '198.51.100.1'], 1, '198.51.100.1'],
  ['192.0.2.1', ['198.51.100.1, 192.0.2.2'], 2, '198.51.100.1'],
  ['192.0.2.1', ['198.51.100.1'], 5, '198.51.100.1'],
  ['192.0.2.1', undefined, 1, '192.0.2.1'],
  ['::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', undefined, 0, '2001:db8:1:2::/64'],
  ['2001:0db8:0001:2::9', undefined, 0, '2001:db8:1:2::/64'],
  ['2001:db8::1', undefined, 0, '2001:db8:0:0::/64'],
  ['::1', undefined, 0, '0:0:0:0::/64'],
  ['fe80::1%eth0', undefined, 0, 'fe80:0:0:0::/64'],
  ['192.0.2.1', ['x'.repeat(1000)], 1, 'x'.repeat(64)],
])('%s with %j behind %i proxies is %s', (peer, forwardedFor, trustedProxies, expected) => {
  expect(clientAddress(peer, forwardedFor, trustedProxies)).toBe(expected);
});
