import { useSearchState } from './search-state.ts'

/** Whether the dialog for a new one is open. It is in the address: the command palette and other pages lead to it. */
export function useAdding(): [isAdding: boolean, setAdding: (isAdding: boolean) => Promise<void>] {
  const [search, setSearch] = useSearchState<'add'>()
  return [search.add !== undefined, (isAdding) => setSearch({ add: isAdding ? 'yes' : undefined })]
}
