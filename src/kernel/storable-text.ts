/** PostgreSQL stores neither NUL nor half of a surrogate pair, although JSON can carry both. */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** The text with U+FFFD in the place of what cannot be stored. */
export const toStorableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\u{FFFD}');
