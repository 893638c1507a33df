/* SPDX-License-Identifier: MIT
 * malloc_extension.h -- gperftools' class MallocExtension, as mallow offers it.
 * The order of the virtual functions is that of gperftools 2.10 to 2.18, so that programs compiled
 * with either header run with either library.  doc/reference/gperftools.md says what each function
 * and property is here.  C programs include malloc_extension_c.h. */
#ifndef BASE_MALLOC_EXTENSION_H_
#define BASE_MALLOC_EXTENSION_H_

#ifndef __cplusplus
#include <gperftools/malloc_extension_c.h>
#else

#include <stddef.h>
#include <stdint.h>
#include <string>
#include <vector>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

static const int kMallocHistogramSize = 64;

typedef std::string MallocExtensionWriter;

namespace base {
struct MallocRange {
	enum Type { INUSE, FREE, UNMAPPED, UNKNOWN };
	uintptr_t address;
	size_t length;
	Type type;
	double fraction; /* share of the range that is in use, 0 to 1 */
};
} // namespace base

/* Source of memory.  Objects of this class are stored and returned; mallow does not call them. */
class PERFTOOLS_DLL_DECL SysAllocator {
      public:
	SysAllocator() {
	}
	virtual ~SysAllocator();
	virtual void *Alloc(size_t size, size_t *actual_size, size_t alignment) = 0;
};

class PERFTOOLS_DLL_DECL MallocExtension {
      public:
	enum Ownership { kUnknownOwnership = 0, kOwned, kNotOwned };
	struct FreeListInfo {
		size_t min_object_size;
		size_t max_object_size;
		size_t total_bytes_free;
		const char *type;
	};
	typedef void(RangeFunction)(void *, const base::MallocRange *);

	/* The object of the allocator that runs; never NULL. */
	static MallocExtension *instance();
	/* Makes instance() return another object. */
	static void Register(MallocExtension *implementation);
	static void Initialize();

	virtual ~MallocExtension();
	virtual bool VerifyAllMemory();
	virtual bool VerifyNewMemory(const void *p);
	virtual bool VerifyArrayNewMemory(const void *p);
	virtual bool VerifyMallocMemory(const void *p);
	virtual bool MallocMemoryStats(int *blocks, size_t *total,
				       int histogram[kMallocHistogramSize]);
	virtual void GetStats(char *buffer, int buffer_length);
	virtual void GetHeapSample(MallocExtensionWriter *writer);
	virtual void GetHeapGrowthStacks(MallocExtensionWriter *writer);
	virtual void Ranges(void *arg, RangeFunction func);
	virtual bool GetNumericProperty(const char *property, size_t *value);
	virtual bool SetNumericProperty(const char *property, size_t value);
	virtual void MarkThreadIdle();
	virtual void MarkThreadBusy();
	virtual SysAllocator *GetSystemAllocator();
	virtual void SetSystemAllocator(SysAllocator *a);
	virtual void ReleaseToSystem(size_t num_bytes);
	virtual void ReleaseFreeMemory();
	virtual void SetMemoryReleaseRate(double rate);
	virtual double GetMemoryReleaseRate();
	virtual size_t GetEstimatedAllocatedSize(size_t size);
	virtual size_t GetAllocatedSize(const void *p);
	virtual Ownership GetOwnership(const void *p);
	virtual void GetFreeListSizes(std::vector<FreeListInfo> *v);
	virtual void **ReadStackTraces(int *sample_period);
	virtual void **ReadHeapGrowthStackTraces();
	virtual size_t GetThreadCacheSize();
	virtual void MarkThreadTemporarilyIdle();
};

#endif

#endif
