import type { Log } from './log.ts'

/** The types for links that install artefacts on devices. */

export type ArtefactKind = 'firmware' | 'software' | 'backup' | 'configuration' | 'logfile'

export type UpdateCredential = { type: string; bytes: Uint8Array; username: string; password: string }

/** The device and the job of an update. */
export type UpdateTarget = {
  jobId: string
  kind: ArtefactKind
  /** The field `metadata` of the asset, which the link wrote as base64 during the discovery. */
  device: Uint8Array
  deviceCredential?: UpdateCredential
  artefactCredential?: UpdateCredential
}

/** The progress of an update. A state other than `ok` is the reason of a failure. */
export type UpdateStatus = {
  phase: 'prepare' | 'download' | 'installation' | 'activation' | 'cancellation'
  state?: 'ok' | 'failed' | 'another device' | 'incompatible' | 'not supported'
  message?: string
  /** 0 to 100. */
  progress?: number
}

export type UpdateSteps = AsyncIterable<UpdateStatus> | Iterable<UpdateStatus>

type Call = UpdateTarget & { signal: AbortSignal; log: Log }

export type UpdateCall = Call & {
  /** The content of the artefact in chunks. It is sent on request, and can be requested once. */
  content: () => AsyncIterable<Uint8Array>
}

/**
 * The steps of an update. Each yields its progress and ends when it is done. An error becomes the status of the call. The
 * link must run one update per device at a time, and must store jobs if they should survive a restart.
 */
export type Updates = {
  /** Transfers the artefact to the device, which continues to run. */
  prepare: (call: UpdateCall) => UpdateSteps
  /** Activates the prepared artefact. */
  activate: (call: UpdateCall) => UpdateSteps
  /** Removes the prepared artefact. */
  cancel: (call: Call) => UpdateSteps
}
