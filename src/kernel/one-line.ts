/** A name or a label: one line in which there is something to see. */
export const ONE_LINE = /^(?=.*\S)[^\p{Cc}\p{Zl}\p{Zp}]+$/u;
export const ONE_LINE_RULE = 'must be one line that is not blank, without control characters';
