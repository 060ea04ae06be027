```python
print("hello")
```
