/** Where the next page begins. */
export class PageInfo {
  /**
   * Whether there is a further page.
   * @example false
   */
  has_next_page: boolean;

  /**
   * Pass it as `cursor`, with the same sort and filters, to get the next page. Absent on the last page.
   * @example "eyJzY29wZSI6InVwZGF0ZWRfYXQifQ.c2lnbmF0dXJl"
   */
  next_cursor?: string;
}
