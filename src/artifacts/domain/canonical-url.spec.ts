import { describe, expect, it } from '@jest/globals';
import { canonicalUrl } from './canonical-url.js';

describe('the canonical form of a URL', () => {
  it.each([
    ['HTTPS://Example.COM/Issue/7', 'https://example.com/Issue/7'],
    ['https://example.com:443/a', 'https://example.com/a'],
    ['http://example.com:80/a/', 'http://example.com/a'],
    ['https://example.com:8443/a//', 'https://example.com:8443/a'],
    ['https://example.com/', 'https://example.com'],
    ['https://example.com/a#comment-3', 'https://example.com/a'],
    ['https://example.com/a/?q=1&Q=2#x', 'https://example.com/a?q=1&Q=2'],
    ['https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC'],
  ])('of %s is %s', (given, canonical) => {
    expect(canonicalUrl(given)).toBe(canonical);
    expect(canonicalUrl(canonical)).toBe(canonical);
  });

  it.each([
    '',
    'example.com/a',
    '/a',
    'ftp://example.com/a',
    'javascript:alert(1)',
    'https://ada:pw@example.com/',
  ])('does not exist of %s', (given) => {
    expect(canonicalUrl(given)).toBeUndefined();
  });
});
