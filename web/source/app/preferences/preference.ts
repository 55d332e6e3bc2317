import { useCallback, useSyncExternalStore } from 'react'
import { useAppContext } from '../session/app-context.tsx'

/**
 * Reads and writes a preference. Example: `const [columns, setColumns] = usePreference('assets.columns', […])`. An
 * older version of the console may have stored the value, so the caller must validate the format of the value.
 */
export function usePreference<Value>(name: string, fallback: Value): [Value, (value: Value) => void] {
  const { preferences } = useAppContext()
  const stored = useSyncExternalStore(
    useCallback((changed: () => void) => preferences.subscribe(name, changed), [preferences, name]),
    () => preferences.get(name),
  )
  const set = useCallback((value: Value) => preferences.set(name, value), [preferences, name])
  return [stored === undefined || stored === null ? fallback : (stored as Value), set]
}
