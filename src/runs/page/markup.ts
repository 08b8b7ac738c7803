/** Markup that is safe to show: made by {@link html} alone. */
export class Markup {
  constructor(readonly text: string) {}
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** Markup from a template. A value is text, and is escaped, unless it is markup itself, or a list of it; undefined is nothing. */
export function html(
  template: TemplateStringsArray,
  ...values: (string | number | Markup | Markup[] | undefined)[]
): Markup {
  const shown = values.map((value) => {
    if (value === undefined) return '';
    if (value instanceof Markup) return value.text;
    return Array.isArray(value) ? value.map(({ text }) => text).join('') : escaped(String(value));
  });
  return new Markup(String.raw({ raw: template }, ...shown));
}

/** A link where the address is one of the web, else its text: a `javascript:` address leads nowhere. */
export function link(address: string, label = address): Markup {
  if (!/^https?:\/\//i.test(address)) return html`${label}`;
  return html`<a href="${address}" rel="noopener noreferrer nofollow" target="_blank">${label}</a>`;
}
