import type { Log } from './log.ts'
import type { Permits } from './network/permits.ts'

/** This file contains the types for links that install artefacts on devices, or read artefacts from them. */

export type ArtefactKind = 'firmware' | 'software' | 'backup' | 'configuration' | 'logfile'

export type UpdateCredential = { type: string; bytes: Uint8Array; username: string; password: string }

/** `UpdateTarget` describes an update: its job, the kind of artefact, the device and the credentials. */
export type UpdateTarget = {
  jobId: string
  kind: ArtefactKind
  /**
   * The bytes that name the device: the `metadata` that the discovery returned for it. If the gateway has none, these are
   * the JSON bytes of the address and the identifiers of the device. `targetOfDevice` reads them.
   */
  device: Uint8Array
  deviceCredential?: UpdateCredential
  artefactCredential?: UpdateCredential
}

/**
 * `UpdateStatus` is the progress of an update or of a read. A state other than `ok` is the reason why it failed. The
 * phases `archive` and `upload` belong to a read.
 */
export type UpdateStatus = {
  phase: 'prepare' | 'download' | 'installation' | 'activation' | 'cancellation' | 'archive' | 'upload'
  state?: 'ok' | 'failed' | 'another device' | 'incompatible' | 'not supported'
  message?: string
  /** The percentage, from 0 to 100. */
  progress?: number
}

export type UpdateSteps = AsyncIterable<UpdateStatus> | Iterable<UpdateStatus>
export type ReadSteps = AsyncIterable<UpdateStatus | Uint8Array> | Iterable<UpdateStatus | Uint8Array>

/** `DeviceCall` is a call for one device. */
export type DeviceCall = UpdateTarget & {
  /** Is aborted when the caller cancels the call, and when the link stops. */
  signal: AbortSignal
  log: Log
  /** The permits of this call. The link takes one before each datagram, connection and request. */
  permits: Permits
  /** The folder in which the link can store files, such as its jobs. It is undefined if the link has no folder. */
  home?: string | undefined
}

export type UpdateCall = DeviceCall & {
  /** Requests the content of the artefact and yields it in chunks. The content can be requested only once. */
  content: () => AsyncIterable<Uint8Array>
}

/**
 * `Updates` contains the steps of an update. Each step yields its progress and ends when it is done. A thrown error
 * becomes the status of the call.
 *
 * The SDK runs `prepare` and `activate` of a device one after the other: while one of them runs, another call for the
 * same device is refused with RESOURCE_EXHAUSTED. `cancel` and `read` can run at any time. A job that should survive a
 * restart of the link must be stored by the link, for example in a `DurableStore`.
 */
export type Updates = {
  /** Transfers the artefact to the device. The device continues to run with its current artefact. */
  prepare: (call: UpdateCall) => UpdateSteps
  /**
   * Activates the artefact that the same job prepared. Throws FAILED_PRECONDITION if the job has prepared nothing, so that
   * a device is never activated twice by one job.
   */
  activate: (call: UpdateCall) => UpdateSteps
  /** Removes the prepared artefact. It also succeeds if nothing is prepared. */
  cancel: (call: DeviceCall) => UpdateSteps
  /**
   * Reads an artefact from the device, such as a log file or a backup. Yields its progress and the bytes of the artefact.
   * A link with this function also serves the interface `factory_x.artefact_update.v1`.
   */
  read?: (call: DeviceCall) => ReadSteps
}
