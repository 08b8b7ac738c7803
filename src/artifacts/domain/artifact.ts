export const ARTIFACT_TYPES = ['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE'] as const;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

/** The types whose bytes lie in object storage. */
export const FILE_TYPES = ['SCREENSHOT', 'FILE'] as const;
export type FileType = (typeof FILE_TYPES)[number];

/** What is kept of an artifact, by type; names as on the wire. */
export interface ArtifactData {
  PLAN: { document_uid: string; notebook_uid?: string; url?: string; title?: string };
  PULL_REQUEST: { url: string; branch: string };
  SCREENSHOT: { filename: string; mime_type: string; title?: string; description?: string };
  FILE: { filepath: string; filename: string; mime_type: string; title?: string; description?: string };
  EXTERNAL_REFERENCE: {
    reference_type: string;
    url: string;
    title?: string;
    metadata?: Record<string, unknown>;
  };
}

/** An artifact as it is read. */
export type ArtifactView = {
  [Type in ArtifactType]: {
    uid: string;
    run_id: string;
    /** The team or the person that owns the run. */
    scope_uid: string;
    artifact_type: Type;
    data: ArtifactData[Type];
    public: boolean;
    object_key: string | null;
    size_bytes: number | null;
    created_at: Date;
  };
}[ArtifactType];

/** An artifact with bytes in object storage. */
export type FileArtifact = Extract<ArtifactView, { artifact_type: FileType }> & {
  object_key: string;
  size_bytes: number;
};

export const isFile = (artifact: ArtifactView): artifact is FileArtifact => artifact.object_key !== null;

/** The content of a plan. */
export interface PlanContent {
  content: string;
  content_type: string;
}

/** An artifact as an agent reports it. Bytes of a file have been put at the target of its upload before. */
export type ArtifactReport =
  | { type: 'PLAN'; data: ArtifactData['PLAN']; content?: PlanContent }
  | { type: 'PULL_REQUEST'; data: ArtifactData['PULL_REQUEST'] }
  | { type: 'EXTERNAL_REFERENCE'; data: ArtifactData['EXTERNAL_REFERENCE'] }
  | { type: 'SCREENSHOT'; uid: string; data: Omit<ArtifactData['SCREENSHOT'], 'mime_type'> }
  | { type: 'FILE'; uid: string; data: Omit<ArtifactData['FILE'], 'mime_type'> };
