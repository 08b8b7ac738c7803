/**
 * The form in which two URLs of one thing are the same text: scheme and host in lower case, without default port, fragment and
 * trailing slashes. What a server may tell apart (the path's case, the query) is left as it is.
 *
 * @returns undefined for what is not an absolute http or https URL, and for one with a user name or password in it
 */
export function canonicalUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
  if (url.username !== '' || url.password !== '') return undefined;
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}${url.search}`;
}
