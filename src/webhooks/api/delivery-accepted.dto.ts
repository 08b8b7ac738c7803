/** What a sender gets. */
export class DeliveryAcceptedDto {
  /**
   * Of the delivery that was accepted with this identity: the first one, for each that repeats it.
   *
   * @example 0196f0a1-7c3e-7d51-9a64-0f2f5c1b8e21
   */
  delivery_id: string;
}
