/** PostgreSQL stores neither NUL nor half of a surrogate pair, although JSON can carry both. */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** The text with U+FFFD in the place of what cannot be stored. */
export const toStorableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\u{FFFD}');

/**
 * Nest removes these keys from every body. Where keys are data, such as those of metadata, that would lose them without a word: they
 * are refused, in bodies and in files alike.
 */
export const REFUSED_KEYS = ['__proto__', 'constructor', 'prototype'];
