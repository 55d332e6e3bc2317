/** The address of a stream at the device, with the session and the asset that it belongs to. */
export type StreamTarget = { sessionId: string; assetId: string; address: string; port: number }

/**
 * `StreamHeader` describes a stream that the cloud opens to a gateway. `check` only checks the target rules and does not
 * connect. Streams of the kinds `terminal` and `file-…` of one session share one ssh connection to the device.
 */
export type StreamHeader = StreamTarget &
  (
    | { kind: 'check' }
    | { kind: 'tcp' }
    | { kind: 'terminal'; columns: number; rows: number; hasCredential: boolean }
    | { kind: 'file-list' | 'file-download' | 'file-upload'; path: string }
  )

/**
 * The codes with which a gateway refuses or ends a stream. `not_signed_in`: a file stream without a credential, before a
 * terminal of the session signed in.
 */
export const refusalCodes = [
  'target_not_allowed',
  'device_unreachable',
  'host_key_changed',
  'authentication_failed',
  'not_signed_in',
  'no_shell',
  'file_error',
  'session_ended',
  'busy',
] as const
export type RefusalCode = (typeof refusalCodes)[number]

/** A JSON message of a stream. The member `type` names it. Receivers validate the other members. */
export type StreamMessage = { readonly type: string; readonly [member: string]: unknown }

/** `StreamRefusal` is the reason why the other side refused or reset a stream. */
export class StreamRefusal extends Error {
  override readonly name = 'StreamRefusal'
  readonly code: string
  readonly detail: string

  constructor({ code, detail }: { code: string; detail: string }) {
    super(detail)
    this.code = code
    this.detail = detail
  }
}
