import type { Log } from './log.ts'
import type { Permits } from './network/permits.ts'

/** This file contains the types for links that install artefacts on devices. */

export type ArtefactKind = 'firmware' | 'software' | 'backup' | 'configuration' | 'logfile'

export type UpdateCredential = { type: string; bytes: Uint8Array; username: string; password: string }

/** `UpdateTarget` describes an update: its job, the kind of artefact, the device and the credentials. */
export type UpdateTarget = {
  jobId: string
  kind: ArtefactKind
  /** The decoded `metadata` of the device. The link reported it as base64 text during the discovery. */
  device: Uint8Array
  deviceCredential?: UpdateCredential
  artefactCredential?: UpdateCredential
}

/** `UpdateStatus` is the progress of an update. A state other than `ok` is the reason why the update failed. */
export type UpdateStatus = {
  phase: 'prepare' | 'download' | 'installation' | 'activation' | 'cancellation'
  state?: 'ok' | 'failed' | 'another device' | 'incompatible' | 'not supported'
  message?: string
  /** The percentage, from 0 to 100. */
  progress?: number
}

export type UpdateSteps = AsyncIterable<UpdateStatus> | Iterable<UpdateStatus>

type Call = UpdateTarget & {
  signal: AbortSignal
  log: Log
  /** The permits of this call. The link takes one before each datagram, connection and request. */
  permits: Permits
}

export type UpdateCall = Call & {
  /** Requests the content of the artefact and yields it in chunks. The content can be requested only once. */
  content: () => AsyncIterable<Uint8Array>
}

/**
 * `Updates` contains the steps of an update. Each step yields its progress and ends when it is done. A thrown error
 * becomes the status of the call. The link must run only one update at a time for each device. If update jobs should
 * survive a restart, the link must store them.
 */
export type Updates = {
  /** Transfers the artefact to the device. The device continues to run with its current artefact. */
  prepare: (call: UpdateCall) => UpdateSteps
  /** Activates the prepared artefact. */
  activate: (call: UpdateCall) => UpdateSteps
  /** Removes the prepared artefact. */
  cancel: (call: Call) => UpdateSteps
}
