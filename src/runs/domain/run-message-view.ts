/** A message to a run as it is listed: without its text. */
export interface RunMessageView {
  id: string;
  /** Null when a person sent it. */
  sender_run_id: string | null;
  subject: string | null;
  sent_at: Date;
  delivered_at: Date | null;
  read_at: Date | null;
}
