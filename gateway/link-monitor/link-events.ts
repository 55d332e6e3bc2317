import { randomUUID } from 'node:crypto'
import { fromBinary } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { gatekeeperLimits, type LinkReport, type ReportedLinkEvent } from '@millwright/api/gatekeeper.ts'
import { linkServices } from '@millwright/api/link-protocol.ts'
import {
  type AlarmNotification,
  AlarmNotification_SmState as SmState,
} from '@millwright/api/proto/generated/alarms-events_pb.js'
import {
  type DriverStateNotification,
  DriverStateNotificationSchema,
} from '@millwright/api/proto/generated/driver-event_pb.js'
import { isServiceError, LinkClient, offers } from '../link-client.ts'
import type { Log } from '../log.ts'
import type { Registration } from '../registry/registration.ts'

/** `LinkEvent` is an alarm or a driver event of a link, as the gateway's status shows it. */
export type LinkEvent = { link: string; at: string; kind: 'alarm' | 'driver'; text: string }

/** The maximum number of events that the gateway's status shows. */
const statusEvents = 200

/**
 * `EventStream` contains the latest events of one link. The events are numbered, so that the cloud can publish each
 * event only once.
 */
type EventStream = { id: string; sequence: number; events: ReportedLinkEvent[] }

/** How long a stream must be open before the back-off is reset. */
const lastingMs = 60_000

const driverStates = ['undefined', 'good', 'bad', 'available', 'unavailable'] as const

/**
 * `LinkEvents` subscribes to the alarms and driver events of links, logs them, and stores the latest events for the
 * report to the cloud.
 */
export class LinkEvents {
  readonly recent: LinkEvent[] = []
  readonly #streams = new Map<string, EventStream>()
  readonly #followed = new Map<string, { registration: Registration; ending: AbortController }>()
  readonly #log: Log
  readonly #signal: AbortSignal
  readonly #onNews: () => void

  constructor({ log, signal, onNews }: { log: Log; signal: AbortSignal; onNews: () => void }) {
    this.#log = log
    this.#signal = signal
    this.#onNews = onNews
  }

  /** Returns the latest events of a link, as fields of its report. */
  reportFields(appInstanceId: string): Pick<LinkReport, 'events' | 'eventStream'> {
    const stream = this.#streams.get(appInstanceId)
    return stream === undefined ? {} : { events: stream.events, eventStream: stream.id }
  }

  /** Drops the events of a link that is no longer in the report. */
  drop(appInstanceId: string): void {
    this.#streams.delete(appInstanceId)
  }

  follow(registration: Registration): void {
    const { appInstanceId } = registration
    if (this.#followed.get(appInstanceId)?.registration === registration) return
    this.forget(appInstanceId)
    const followsAlarms = offers(registration, 'alarms')
    const followsDriver = offers(registration, 'driverEvents')
    if (!followsAlarms && !followsDriver) return
    const ending = new AbortController()
    this.#followed.set(appInstanceId, { registration, ending })
    const signal = AbortSignal.any([this.#signal, ending.signal])
    if (followsAlarms) void this.#again(signal, () => this.#alarms(registration, signal))
    if (followsDriver) void this.#again(signal, () => this.#driverEvents(registration, signal))
  }

  forget(appInstanceId: string): void {
    this.#followed.get(appInstanceId)?.ending.abort()
    this.#followed.delete(appInstanceId)
  }

  /** Opens a stream again whenever it ends. Stops when the link does not implement the method. */
  async #again(signal: AbortSignal, follow: () => Promise<void>): Promise<void> {
    const backOff = new BackOff({ firstMs: 1_000 })
    while (!signal.aborted) {
      const beganAtMs = performance.now()
      try {
        await follow()
      } catch (error) {
        if (isServiceError(error) && error.code === status.UNIMPLEMENTED) return
      }
      if (performance.now() - beganAtMs > lastingMs) backOff.reset()
      await pause(backOff.nextMs(), signal)
    }
  }

  async #alarms(registration: Registration, signal: AbortSignal): Promise<void> {
    using link = new LinkClient(registration)
    const stream = link.stream(linkServices.alarms.method.subscribeAlarms, {}, { signal })
    for await (const { notifications } of stream) {
      for (const alarm of notifications) this.#note(registration, 'alarm', textOfAlarm(alarm))
    }
  }

  async #driverEvents(registration: Registration, signal: AbortSignal): Promise<void> {
    using link = new LinkClient(registration)
    const stream = link.stream(linkServices.driverEvents.method.subscribeEvents, {}, { signal })
    for await (const { notifications } of stream) {
      for (const { typeUrl, value } of notifications) {
        // The last part of the type URL identifies the message. The vendor prefix before this part can differ.
        const name = typeUrl.split('.').at(-1) ?? ''
        this.#note(registration, 'driver', name === 'DriverStateNotification' ? textOfState(value) : name)
      }
    }
  }

  #note({ appInstanceId: link }: Registration, kind: LinkEvent['kind'], text: string): void {
    const event = { link, at: new Date().toISOString(), kind, text: text.slice(0, 1_000) }
    this.recent.push(event)
    if (this.recent.length > statusEvents) this.recent.shift()
    const stream = this.#streams.get(link) ?? { id: randomUUID(), sequence: 0, events: [] }
    stream.sequence++
    const reported = { timestamp: event.at, kind, text: event.text, sequence: stream.sequence }
    stream.events = [...stream.events, reported].slice(-gatekeeperLimits.eventsPerLink)
    this.#streams.set(link, stream)
    this.#log.info(event, 'link event')
    this.#onNews()
  }
}

function textOfAlarm(alarm: AlarmNotification): string {
  const { alarmId, priority, alarmClass, source, alarmText, isActive, isAcknowledged } = alarm
  const standing = [
    isActive === SmState.yes ? 'active' : isActive === SmState.no ? 'over' : '',
    isAcknowledged === SmState.no ? 'not acknowledged' : '',
  ]
  const texts = alarmText?.localizedTexts ?? {}
  const text = texts['en-US'] ?? texts.en ?? Object.values(texts)[0] ?? ''
  return [alarmId, alarmClass, source, `priority ${priority}`, ...standing, text]
    .filter((part) => part !== '')
    .join(' ')
}

function textOfState(value: Uint8Array): string {
  const notification = stateIn(value)
  if (notification === undefined) return 'unreadable driver state'
  const { driverState, connectionStates } = notification
  const bad = connectionStates.filter(({ connectionState }) => connectionState !== 1).map((one) => one.connectionName)
  const state = driverStates[driverState] ?? String(driverState)
  return `driver is ${state}${bad.length === 0 ? '' : `; not connected: ${bad.join(', ')}`}`
}

/** Parses a driver state. Returns undefined for invalid bytes, so that one invalid message does not end the stream. */
function stateIn(value: Uint8Array): DriverStateNotification | undefined {
  try {
    return fromBinary(DriverStateNotificationSchema, value)
  } catch {
    return undefined
  }
}
