import type { Log } from './log.ts'

/** What a link author writes to bring artefacts to devices. */

export type ArtefactKind = 'firmware' | 'software' | 'backup' | 'configuration' | 'logfile'

export type UpdateCredential = { type: string; bytes: Uint8Array; username: string; password: string }

/** Which device, and for which job. */
export type UpdateTarget = {
  jobId: string
  kind: ArtefactKind
  /** What the link wrote about the device, as base64, into the field `metadata` of its asset when it found it. */
  device: Uint8Array
  deviceCredential?: UpdateCredential
  artefactCredential?: UpdateCredential
}

/** How far an update is. A state other than `ok` says that it failed, and how. */
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
  /** The artefact, piece by piece. It travels only when it is asked for, which can be done once. */
  content: () => AsyncIterable<Uint8Array>
}

/**
 * The steps of an update. Each yields where it stands, and ends when it is done; what it throws becomes the status of the
 * call. A device has one update at a time: to hold to that, and to remember a job over a restart, is the link's own duty.
 */
export type Updates = {
  /** Brings the artefact to the device, which goes on as before. */
  prepare: (call: UpdateCall) => UpdateSteps
  /** Has the device use what was prepared. */
  activate: (call: UpdateCall) => UpdateSteps
  /** Takes back what was prepared. */
  cancel: (call: Call) => UpdateSteps
}
