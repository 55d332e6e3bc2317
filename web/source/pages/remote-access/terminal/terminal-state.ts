import {
  closeCodes,
  type ErrorMessage,
  type HostKeyMessage,
  isConnectionLoss,
  type PromptMessage,
  type StreamClose,
  type StreamMessage,
} from '../streams/stream-message.ts'

/**
 * This file contains the states of a terminal. A terminal connects, asks for the user name and password of the device
 * if the session has no credential, and is then open. After a loss of the connection, it connects again. It is closed
 * when the shell of the device exits, when the device or the platform reports an error, or when the session ends.
 */

export type TerminalStatus =
  | { kind: 'connecting' }
  | { kind: 'sign-in'; prompt: PromptMessage }
  | { kind: 'open' }
  | { kind: 'reconnecting' }
  | { kind: 'exited'; code?: number; signal?: string }
  | { kind: 'failed'; error?: Omit<ErrorMessage, 'type'> }
  | { kind: 'ended' }

export type TerminalState = {
  status: TerminalStatus
  hostKey?: HostKeyMessage
  /** The name of the user on the device. */
  user?: string
}

export const initialState: TerminalState = { status: { kind: 'connecting' } }

/** Returns the state after a message of the platform or of the gateway. */
export function afterMessage(state: TerminalState, message: StreamMessage): TerminalState {
  switch (message.type) {
    case 'host-key':
      return { ...state, hostKey: message }
    case 'prompt':
      return { ...state, status: { kind: 'sign-in', prompt: message } }
    case 'signed-in':
      return { ...state, status: { kind: 'open' }, user: message.user }
    case 'exit': {
      const { type: _, ...exit } = message
      return { ...state, status: { kind: 'exited', ...exit } }
    }
    default:
      return state
  }
}

/** Returns the state after the WebSocket has closed. */
export function afterClose(state: TerminalState, close: StreamClose): TerminalState {
  if (close.code === closeCodes.sessionEnded) return { ...state, status: { kind: 'ended' } }
  if (state.status.kind === 'exited') return state
  // After a loss of the connection, the platform may still hold the former terminal for some seconds.
  const isStillHeld = state.status.kind === 'reconnecting' && close.error?.code === 'busy'
  if (isConnectionLoss(close) || isStillHeld) return { ...state, status: { kind: 'reconnecting' } }
  const { code, detail } = close.error ?? {}
  if (code !== undefined && detail !== undefined)
    return { ...state, status: { kind: 'failed', error: { code, detail } } }
  return { ...state, status: { kind: 'exited' } }
}

/** Returns whether the terminal has no connection and does not connect automatically. */
export function isClosed({ status: { kind } }: TerminalState): boolean {
  return kind === 'exited' || kind === 'failed' || kind === 'ended'
}
