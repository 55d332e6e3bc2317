import type { SessionEnding } from '@millwright/api/remote-access.ts'
import type { MessagePage } from './message-page.ts'
import type { WebSession } from './web-session.ts'

/** The pages that the proxy shows instead of a page of the device. */

export function unknownHostPage(): MessagePage {
  return {
    status: 404,
    title: 'No session at this address',
    texts: ['Open the asset in the console and choose Connect to start a session.'],
  }
}

export function notEnteredPage(consoleUrl: string): MessagePage {
  return {
    status: 401,
    title: 'Open this session in the console',
    texts: [
      'This browser has not entered the session, the link was already used, or the session has ended.',
      'Open the session from the console. The console creates a link that works once.',
    ],
    link: { url: consoleUrl, label: 'Open the console' },
  }
}

export function notOpenPage(consoleUrl: string): MessagePage {
  return {
    status: 409,
    title: 'The session is not open yet',
    texts: ['Wait until the session is approved and connected. Then open it from the console.'],
    link: { url: consoleUrl, label: 'Open the console' },
  }
}

const endings: Readonly<Record<SessionEnding, string>> = {
  'ended-by-user': 'The user of the session ended it.',
  'ended-by-reviewer': 'A reviewer ended the session.',
  denied: 'A reviewer denied the session.',
  'approval-expired': 'The request for approval expired.',
  expired: 'The time of the session is over.',
  idle: 'The session had no traffic for the maximum idle time of the policy.',
  'permission-lost': 'You no longer have the permission to connect to this asset.',
  'gateway-offline': 'The gateway lost its connection to the platform.',
  'target-not-allowed': 'The gateway no longer allows connections to this device.',
  'host-key-changed':
    'The certificate of the device differs from the stored one. Another device may answer at its address. ' +
    'If the certificate was replaced on purpose, a user who can approve sessions must delete the stored one in the console.',
  'recording-full': 'The request log of the session reached its maximum size.',
  'switched-off': 'Remote access was switched off.',
  'asset-deleted': 'The asset was deleted.',
}

/**
 * The browser also deletes what the device stored on this host, which no other session uses. It keeps cookies, because it
 * would delete the cookies of the whole domain, also those of the platform.
 */
export function endedPage({ ending, endingDetail, assetName }: WebSession, consoleUrl: string): MessagePage {
  return {
    status: 410,
    title: 'The session has ended',
    texts: [
      `The session to ${assetName} has ended. ${ending === undefined ? '' : endings[ending]}`.trim(),
      ...(endingDetail === undefined ? [] : [endingDetail]),
      'Open a new session in the console to continue.',
    ],
    link: { url: consoleUrl, label: 'Open the console' },
    headers: { 'clear-site-data': '"cache", "storage"' },
  }
}

export function crossSitePage(reason: string): MessagePage {
  return { status: 403, title: 'Request refused', texts: [reason] }
}

export function serviceWorkerPage(): MessagePage {
  return {
    status: 403,
    title: 'Service worker refused',
    texts: ['Pages of devices cannot install service workers, because a service worker remains after the session.'],
  }
}

export function invalidRequestPage(reason: string): MessagePage {
  return { status: 400, title: 'Invalid request', texts: [reason], headers: { connection: 'close' } }
}

export function tooLargePage(reason: string): MessagePage {
  return { status: 431, title: 'Request too large', texts: [reason], headers: { connection: 'close' } }
}

export function notAllowedPage(method: string): MessagePage {
  return { status: 405, title: 'Method not allowed', texts: [`The method ${method} is not available in web sessions.`] }
}

export function busyPage(): MessagePage {
  return {
    status: 503,
    title: 'Too many requests',
    texts: ['The session has too many requests at the same time. Reload the page in a few seconds.'],
    headers: { 'retry-after': '2' },
  }
}

/** The page for a redirect to another origin. The target is text and not a link, because the device chose it. */
export function foreignRedirectPage(target: string, { service, address, port }: WebSession): MessagePage {
  const other = URL.parse(target, `${service}://redirect.invalid`)
  const otherService = other?.protocol === 'https:' ? 'https' : 'http'
  const isSameDevice = other !== null && other.hostname.replace(/^\[|\]$/g, '') === address
  const otherPort = other?.port || (otherService === 'https' ? '443' : '80')
  return {
    status: 502,
    title: 'The device redirects to another address',
    texts: [
      `The device redirects to ${target.slice(0, 500)}`,
      `This session reaches only ${service} on port ${port} of ${address}, so the redirect was not followed.`,
      isSameDevice
        ? `To open this page, request a session for ${otherService} with port ${otherPort} of the same asset.`
        : 'To open this page, request a session to the asset with this address.',
    ],
  }
}

const failures: Readonly<Record<string, { status: number; text: string }>> = {
  device_unreachable: { status: 502, text: 'The gateway cannot connect to the device.' },
  target_not_allowed: { status: 403, text: 'The gateway does not allow connections to this device.' },
  gateway_offline: { status: 503, text: 'The gateway is not connected to the platform.' },
  busy: { status: 503, text: 'The session has too many connections. Reload the page in a few seconds.' },
  too_many_requests: { status: 503, text: 'The session has too many connections. Reload the page in a few seconds.' },
  UND_ERR_HEADERS_TIMEOUT: { status: 504, text: 'The device did not answer in time.' },
  UND_ERR_HEADERS_OVERFLOW: { status: 502, text: 'The device sent headers that are too large.' },
}

/** The page for a request that the device did not answer. */
export function failurePage(error: unknown): MessagePage {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  const detail = (error as { detail?: unknown } | null)?.detail
  const { status, text } = failures[code] ?? { status: 502, text: 'The device sent no valid HTTP response.' }
  return {
    status,
    title: 'No response from the device',
    texts: [text, ...(typeof detail === 'string' && detail !== text ? [detail] : [])],
    ...(status === 503 ? { headers: { 'retry-after': '2' } } : {}),
  }
}
