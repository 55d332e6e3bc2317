import type { Log } from './log.ts'

/** This file contains the types for links that install artefacts on devices. */

export type ArtefactKind = 'firmware' | 'software' | 'backup' | 'configuration' | 'logfile'

export type UpdateCredential = { type: string; bytes: Uint8Array; username: string; password: string }

/** `UpdateTarget` contains the device and the job of an update. */
export type UpdateTarget = {
  jobId: string
  kind: ArtefactKind
  /** The decoded field `metadata` of the asset. The link wrote this field as base64 during the discovery. */
  device: Uint8Array
  deviceCredential?: UpdateCredential
  artefactCredential?: UpdateCredential
}

/** `UpdateStatus` is the progress of an update. A state other than `ok` is the reason of a failure. */
export type UpdateStatus = {
  phase: 'prepare' | 'download' | 'installation' | 'activation' | 'cancellation'
  state?: 'ok' | 'failed' | 'another device' | 'incompatible' | 'not supported'
  message?: string
  /** The percentage, from 0 to 100. */
  progress?: number
}

export type UpdateSteps = AsyncIterable<UpdateStatus> | Iterable<UpdateStatus>

type Call = UpdateTarget & { signal: AbortSignal; log: Log }

export type UpdateCall = Call & {
  /** Returns the content of the artefact in chunks. The content is sent on request, and can be requested only once. */
  content: () => AsyncIterable<Uint8Array>
}

/**
 * `Updates` contains the steps of an update. Each step yields its progress and ends when it is done. A thrown error
 * becomes the status of the call. The link must run one update per device at a time. The link must store its jobs if
 * they should survive a restart.
 */
export type Updates = {
  /** Transfers the artefact to the device. The device continues to run. */
  prepare: (call: UpdateCall) => UpdateSteps
  /** Activates the prepared artefact. */
  activate: (call: UpdateCall) => UpdateSteps
  /** Removes the prepared artefact. */
  cancel: (call: Call) => UpdateSteps
}
