import type { CloudEvent } from '@millwright/api/events.ts'
import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { useAppContext } from '../session/app-context.tsx'
import { hasTypePrefix, type LiveEvents, type LiveState } from './live-events.ts'

/**
 * The minimum time between two invalidations. It limits the number of requests, because a scan causes thousands of
 * events in a short time.
 */
const invalidateIntervalMs = 1_000

/**
 * Calls the handler for every event whose type has one of these prefixes. Prefixes are written without
 * `io.millwright.`, and match whole segments of the type only. `*` matches all types. The caller may pass a new array
 * and a new handler on every render.
 */
export function useLiveEvents(types: readonly string[], handler: (event: CloudEvent) => void): void {
  const { live } = useAppContext()
  const onEvent = useEffectEvent(handler)
  const typeList = types.join(',')
  useEffect(() => live.subscribe(typeList.split(','), (event) => onEvent(event)), [live, typeList])
}

export function useLiveState(): LiveState {
  const { live } = useAppContext()
  return useSyncExternalStore(
    (changed) => live.watch(changed),
    () => live.state,
  )
}

/** Invalidates queries when an event with one of their `live` prefixes arrives. */
export function invalidateQueriesOnEvents(live: LiveEvents, queryClient: QueryClient): () => void {
  const pending = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const invalidate = () => {
    timer = undefined
    const types = [...pending]
    pending.clear()
    queryClient.invalidateQueries({
      predicate: ({ meta }) => (meta?.live ?? []).some((each) => types.some((type) => hasTypePrefix(type, each))),
    })
  }
  const unsubscribe = live.subscribe(['*'], ({ type }) => {
    pending.add(type.slice('io.millwright.'.length))
    timer ??= setTimeout(invalidate, invalidateIntervalMs)
  })
  live.onGap = () => queryClient.invalidateQueries()
  return () => {
    clearTimeout(timer)
    unsubscribe()
  }
}
