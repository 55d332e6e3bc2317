import type { CloudEvent } from '@millwright/api/events.ts'
import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { useVisit } from '../session/user-context.tsx'
import { isWithin, type LiveEvents, type LiveState } from './live-events.ts'

/** A scan tells thousands of changes in a row: queries are asked again at most this often. */
const renewEveryMs = 1_000

/**
 * Calls the handler for every event whose type begins with one of these (in whole words, without `io.millwright.`;
 * `*` is every one). The types are compared by value; the handler may be a new function in each render.
 */
export function useLive(types: readonly string[], handler: (event: CloudEvent) => void): void {
  const { live } = useVisit()
  const heard = useEffectEvent(handler)
  const wanted = types.join(',')
  useEffect(() => live.subscribe(wanted.split(','), (event) => heard(event)), [live, wanted])
}

export function useLiveState(): LiveState {
  const { live } = useVisit()
  return useSyncExternalStore(
    (changed) => live.watch(changed),
    () => live.state,
  )
}

/** Lets events renew the queries that name them in `live`. */
export function renewQueries(live: LiveEvents, queryClient: QueryClient): () => void {
  const pending = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const renew = () => {
    timer = undefined
    const types = [...pending]
    pending.clear()
    queryClient.invalidateQueries({
      predicate: ({ meta }) => (meta?.live ?? []).some((each) => types.some((type) => isWithin(type, each))),
    })
  }
  const unsubscribe = live.subscribe(['*'], ({ type }) => {
    pending.add(type.slice('io.millwright.'.length))
    timer ??= setTimeout(renew, renewEveryMs)
  })
  live.onGap = () => queryClient.invalidateQueries()
  return () => {
    clearTimeout(timer)
    unsubscribe()
  }
}
