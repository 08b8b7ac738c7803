/** `npm run test:soak` runs the long form of the crash and race tests, `npm test` the short one. */
export const soaking = process.env.MILLWRIGHT_SOAK === 'true';

/** How often, or how many: in the short form, and in the long one. */
export const scaled = (short: number, long: number): number => (soaking ? long : short);
