/** Rows of one kind that a team, or a person, may have: lists without pages stay this short. */
export const MAX_LIST_ROWS = 1000;
