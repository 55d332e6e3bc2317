import { useSearchState } from './search-state.ts'

/** Whether the create dialog of a page is open. The URL holds the state, so that the command palette can open it. */
export function useCreateDialog(): [isOpen: boolean, setOpen: (isOpen: boolean) => Promise<void>] {
  const [search, setSearch] = useSearchState<'add'>()
  return [search.add !== undefined, (isOpen) => setSearch({ add: isOpen ? 'yes' : undefined })]
}
