/** The name of a factory or webhook. It has to do as the name of a definition file too. */
export const RESOURCE_NAME = /^(?![\s.])[^/\\\p{Cc}]*[^/\\\p{Cc}\s]$/u;
export const RESOURCE_NAME_RULE =
  'must have no "/", no "\\" and no control characters, no space at either end and no "." first';
export const RESOURCE_NAME_LENGTH = 100;
