import { PageHeader } from '../../components/page-header.tsx'

export function StartPage() {
  return <PageHeader title="Start" />
}
