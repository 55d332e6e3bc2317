import type { Duplex } from 'node:stream'
import type { RecordingMode, SessionEnding, SessionState } from '@millwright/api/remote-access.ts'
import type { Entry } from './entry-cookie.ts'

/** A session for a web page of a device. */
export type WebSession = {
  readonly tenantId: string
  readonly id: string
  readonly state: SessionState
  readonly service: 'http' | 'https'
  readonly address: string
  readonly port: number
  readonly assetName: string
  readonly recording: RecordingMode
  readonly ending?: SessionEnding | undefined
  readonly endingDetail?: string | undefined
}

export type RequestLog = {
  readonly recorder: {
    /** Adds a line. Returns false if the next request should wait until `flush` is done. */
    line(text: string): boolean
    flush(): Promise<void>
  }
  release(): Promise<void>
}

/** The part of the service that the web proxy uses. */
export type WebSessions = {
  findSession(of: { tenantId: string; id: string }): Promise<WebSession | undefined>
  /** Redeems a ticket of a session. Returns undefined if the ticket is not valid for this session. */
  redeemTicket(id: string, ticket: string): Promise<WebSession | undefined>
  storeEntry(session: WebSession, entry: Entry): Promise<void>
  hasEntry(id: string, entry: Entry): Promise<boolean>
  /** Opens a connection to the device of the session. */
  openStream(session: WebSession): Promise<Duplex>
  /**
   * Compares the certificate of the device with the stored one, or stores the first one. Returns false and ends the
   * session if the certificate has changed.
   */
  acceptCertificate(session: WebSession, fingerprint: string): Promise<boolean>
  /** Returns the request log, if the policy of the session requires one. The proxy calls `release` at the end. */
  logOf(session: WebSession): RequestLog | undefined
  /** Calls the listener when a session ends. */
  onEnd(listener: (id: string) => void): void
}
