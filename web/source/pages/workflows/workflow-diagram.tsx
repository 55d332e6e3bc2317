import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { keyOf } from '../../app/api/queries.ts'
import { useVisit } from '../../app/session/user-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'

/** A state machine as the platform draws it. As an image, a drawing cannot run anything. */
export function WorkflowPicture({ name, label }: { name: string; label: string }) {
  const { raw } = useVisit()
  const drawing = useQuery({
    queryKey: keyOf('workflows', 'drawWorkflow', name),
    queryFn: async ({ signal }) => (await raw('workflows', 'drawWorkflow', { params: { name }, signal })).blob(),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <QueryState query={drawing}>{(blob) => <Drawn blob={blob} label={label} />}</QueryState>
}

function Drawn({ blob, label }: { blob: Blob; label: string }) {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  if (address === undefined) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no pointer scrolls it with the arrow keys
    <section className="drawing" tabIndex={0} aria-label={label}>
      <img src={address} alt={label} />
    </section>
  )
}
