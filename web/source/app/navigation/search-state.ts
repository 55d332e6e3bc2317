import { useNavigate, useSearch } from '@tanstack/react-router'

/**
 * Returns the search parameters of the URL, and a function that changes them. Pages store their state there, so that
 * the user can share the URL and the back button works.
 */
export function useSearchState<Names extends string>(): [
  Partial<Record<Names, string>>,
  (change: Partial<Record<Names, string | undefined>>) => Promise<void>,
] {
  const search = useSearch({ strict: false }) as Partial<Record<Names, unknown>>
  const navigate = useNavigate()
  const texts = Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))
  const change = (changed: Partial<Record<Names, string | undefined>>) => {
    const next = Object.entries({ ...texts, ...changed }).filter(([, value]) => value !== undefined && value !== '')
    return navigate({ to: '.', search: Object.fromEntries(next), replace: true })
  }
  return [texts as Partial<Record<Names, string>>, change]
}
